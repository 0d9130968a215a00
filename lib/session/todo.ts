export const todoStates = ["pending", "in_progress", "done"] as const;

export type TodoItem = { text: string; status: (typeof todoStates)[number] };

/** The model's own list of work, whole each time. */
export type TodoList = {
  readonly items: readonly TodoItem[];
  /** False when the list is the same as before: nothing happened, nothing is announced. */
  replace(items: readonly TodoItem[]): boolean;
};

/** Starts with the list that a resumed session had. */
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
