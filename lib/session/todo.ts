export type TodoItem = { text: string; status: "pending" | "in_progress" | "done" };

/** The model's own list of work, whole each time. */
export type TodoList = {
  readonly items: readonly TodoItem[];
  /** False when the list is the same as before: nothing happened, nothing is announced. */
  replace(items: readonly TodoItem[]): boolean;
};
