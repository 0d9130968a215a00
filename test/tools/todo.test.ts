import { expect, test } from "bun:test";
import { createTodoList, type TodoItem } from "../../lib/session/todo.ts";
import { todoTool } from "../../lib/tools/todo.ts";

const item = (text: string, status: TodoItem["status"] = "pending"): TodoItem => ({ text, status });

test("the list is replaced whole and its progress is told", async () => {
  const todo = createTodoList();
  const result = await todoTool.run({ items: [item("a", "done"), item("b", "in_progress"), item("c")] }, { todo });
  expect(result).toMatchObject({ ok: true, parts: [{ text: "Noted: 1 of 3 done." }] });
  expect(todo.items.map(({ text }) => text)).toEqual(["a", "b", "c"]);
});

test("the same list again changes nothing, so that nothing is announced", async () => {
  const todo = createTodoList();
  await todoTool.run({ items: [item("a")] }, { todo });
  const before = todo.items;
  const result = await todoTool.run({ items: [item("a")] }, { todo });
  expect(result).toMatchObject({ ok: true, parts: [{ text: "The list is the same as before." }] });
  expect(todo.items).toBe(before);
  await todoTool.run({ items: [item("a", "done")] }, { todo });
  expect(todo.items).not.toBe(before);
});

test("two items in progress are refused by name and the list stays as it was", async () => {
  const todo = createTodoList([item("old")]);
  const items = [item("a", "in_progress"), item("b", "in_progress")];
  const result = await todoTool.run({ items }, { todo });
  expect(result.ok).toBe(false);
  expect(result.parts).toMatchObject([{ text: expect.stringContaining('not 2 ("a", "b")') }]);
  expect(todo.items).toEqual([item("old")]);
});

test("an empty list clears it", async () => {
  const todo = createTodoList([item("old")]);
  expect((await todoTool.run({ items: [] }, { todo })).ok).toBe(true);
  expect(todo.items).toEqual([]);
});

test("the list keeps no reference to what it was given", () => {
  const given = [item("a")];
  const todo = createTodoList();
  todo.replace(given);
  given.push(item("b"));
  expect(todo.items).toEqual([item("a")]);
});

test("it is read-only for the gate", () => {
  expect(todoTool.claim()).toEqual({ effect: "read", writes: [] });
});
