import type { Database } from "./database.ts";

export type SearchMatch = { session: string; seq: number; kind: string; snippet: string };

export function searchAll(db: Database, query: string): SearchMatch[] {
  void db;
  void query;
  return [];
}
