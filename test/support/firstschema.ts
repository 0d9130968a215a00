/** The database that the first version of koda made: a copy, since today's code must open what it did not make. */
export const firstSchema = `
CREATE TABLE session (
  id TEXT NOT NULL PRIMARY KEY,
  parent TEXT,
  parent_seq INTEGER,
  title TEXT NOT NULL,
  cwd TEXT NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  mode TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  length INTEGER NOT NULL,
  indexed INTEGER NOT NULL,
  turns INTEGER NOT NULL,
  input INTEGER,
  cached INTEGER,
  output INTEGER,
  reasoning INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE lease (
  session TEXT NOT NULL PRIMARY KEY REFERENCES session ON DELETE CASCADE,
  owner TEXT NOT NULL,
  pid INTEGER NOT NULL,
  started TEXT NOT NULL,
  host TEXT NOT NULL,
  machine TEXT NOT NULL,
  since INTEGER NOT NULL,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE content (
  id INTEGER PRIMARY KEY,
  body TEXT NOT NULL
) STRICT;
CREATE TABLE item (
  session TEXT NOT NULL REFERENCES session ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  kind TEXT NOT NULL,
  at INTEGER NOT NULL,
  content INTEGER NOT NULL REFERENCES content,
  PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX item_by_content ON item (content);

CREATE TABLE recording (
  id INTEGER PRIMARY KEY,
  call TEXT NOT NULL,
  indexed INTEGER NOT NULL,
  stdout_head BLOB NOT NULL,
  stdout_tail BLOB NOT NULL,
  stdout_bytes INTEGER NOT NULL,
  stdout_lines INTEGER NOT NULL,
  stderr_head BLOB NOT NULL,
  stderr_tail BLOB NOT NULL,
  stderr_bytes INTEGER NOT NULL,
  stderr_lines INTEGER NOT NULL
) STRICT;
CREATE INDEX recording_unindexed ON recording (id) WHERE indexed = 0;
CREATE TABLE output (
  session TEXT NOT NULL REFERENCES session ON DELETE CASCADE,
  id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  recording INTEGER NOT NULL REFERENCES recording,
  PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX output_by_recording ON output (recording);

CREATE VIRTUAL TABLE search USING fts5 (
  text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TRIGGER item_gone AFTER DELETE ON item BEGIN
  DELETE FROM content WHERE id = old.content AND NOT EXISTS (SELECT 1 FROM item WHERE content = old.content);
END;
CREATE TRIGGER content_gone AFTER DELETE ON content BEGIN
  DELETE FROM search WHERE rowid = old.id;
END;
CREATE TRIGGER output_gone AFTER DELETE ON output BEGIN
  DELETE FROM recording
    WHERE id = old.recording AND NOT EXISTS (SELECT 1 FROM output WHERE recording = old.recording);
END;
CREATE TRIGGER output_replaced AFTER UPDATE OF recording ON output BEGIN
  DELETE FROM recording
    WHERE id = old.recording AND NOT EXISTS (SELECT 1 FROM output WHERE recording = old.recording);
END;
CREATE TRIGGER recording_gone AFTER DELETE ON recording WHEN old.indexed = 1 BEGIN
  DELETE FROM search WHERE rowid = -old.id;
END;
PRAGMA application_id = 0x6b6f6461;
PRAGMA user_version = 1;
`;
