export const todoStates = ["pending", "in_progress", "done"] as const;

export type TodoItem = { text: string; status: (typeof todoStates)[number] };

export type TodoList = ReturnType<typeof createTodoList>;

/** The model's own list of tasks, replaced as a whole; `start` is that of a resumed session. */
export function createTodoList(start: readonly TodoItem[] = []) {
  let items = start;
  return {
    get items(): readonly TodoItem[] {
      return items;
    },
    /** False when the list is the same as before. */
    replace(next: readonly TodoItem[]): boolean {
      if (Bun.deepEquals(items, next)) return false;
      items = next.map(({ text, status }) => ({ text, status }));
      return true;
    },
  };
}
