import { type TodoItem, type TodoList } from "../session/todo.ts";
import type { Circumstances } from "./answer.ts";
import { isLastRequest, limitReached } from "./ledger.ts";
import type { Prompt, Turn } from "./turn.ts";

/** The task of a turn, as far as it tells a finished one from another. */
export type Task = {
  /** The prompt; undefined when nothing may be changed. */
  prompt: string | undefined;
  /** The to-do list of earlier turns, which says nothing about this one; undefined when it continues their task. */
  earlierTodos: readonly TodoItem[] | undefined;
};

export function taskOf(prompt: Prompt, { mayWrite, todo }: { mayWrite: boolean; todo: TodoList }): Task {
  const text = prompt.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  return { prompt: mayWrite ? text : undefined, earlierTodos: prompt.length === 0 ? undefined : todo.items };
}

/** The state of the turn when a reply makes no calls. */
export function circumstancesOf({ task, session, progress, catalog, ledger }: Turn): Circumstances {
  const { items } = session.todo;
  const open = items === task.earlierTodos ? [] : items.filter(({ status }) => status !== "done");
  return {
    openTodos: open.map(({ text }) => text),
    unchangedTask: progress.mayHaveWritten ? undefined : task.prompt,
    // The last request is for the best answer so far, without tools.
    mayGoOn: catalog.current.tools.length > 0 && limitReached(ledger) === undefined && !isLastRequest(ledger),
  };
}
