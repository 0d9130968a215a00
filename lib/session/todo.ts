export const todoStates = ["pending", "in_progress", "done"] as const;

export type TodoItem = { text: string; status: (typeof todoStates)[number] };

/** The model's own list of tasks, replaced as a whole. */
export type TodoList = {
  readonly items: readonly TodoItem[];
  /** False when the list is the same as before. */
  replace(items: readonly TodoItem[]): boolean;
};

/** Starts with the list of a resumed session. */
export function createTodoList(start: readonly TodoItem[] = []): TodoList {
  let items = start;
  return {
    get items() {
      return items;
    },
    replace(next) {
      if (Bun.deepEquals(items, next)) return false;
      items = next.map(({ text, status }) => ({ text, status }));
      return true;
    },
  };
}
