import { applyPatchTool } from "./applypatch.ts";
import { bashTool } from "./bash.ts";
import { deleteTool } from "./delete.ts";
import { editTool } from "./edit.ts";
import { globTool } from "./glob.ts";
import { grepTool } from "./grep.ts";
import { listTool } from "./list.ts";
import { readTool } from "./read.ts";
import { recallTool } from "./recall.ts";
import { taskListTool, taskOutputTool, taskStopTool } from "./tasks.ts";
import { todoTool } from "./todo.ts";
import type { Tool } from "./tool.ts";
import { webFetchTool } from "./webfetch.ts";
import { writeTool } from "./write.ts";

/**
 * Every built-in tool, in the order in which the model is shown them; of twins it is shown one. The order is part of
 * the prompt's prefix.
 */
export const builtInTools: readonly Tool[] = [
  readTool,
  writeTool,
  editTool,
  applyPatchTool,
  deleteTool,
  listTool,
  globTool,
  grepTool,
  bashTool,
  taskListTool,
  taskOutputTool,
  taskStopTool,
  webFetchTool,
  recallTool,
  todoTool,
];
