/** What this conversation knows of files: which content it has seen, and which files it made itself. */
export type FileLog = {
  /** Notes the content of a file that the model has just been shown whole, or has just written. */
  saw(path: string, content: string | Uint8Array): void;
  /** Has the model seen this file's content in this conversation, in any version? */
  hasSeen(path: string): boolean;
  /** Is this exactly the content that the model has in front of it? */
  isCurrent(path: string, content: string | Uint8Array): boolean;
  /** Notes a file that did not exist before. Overwriting one that did never makes it the session's own. */
  created(path: string): void;
  isOwn(path: string): boolean;
  forget(path: string): void;
};
