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
PRAGMA application_id = 1802462305;
PRAGMA user_version = 1;

INSERT INTO session VALUES ('old', NULL, NULL, 'Find the needle', '/project', 'big', 'corp', 'auto', 1, 2, 4, 2, 1, 10, NULL, 5, NULL);
INSERT INTO content VALUES
  (1, '{"kind":"turn_start"}'),
  (2, '{"kind":"user","parts":[{"type":"text","text":"Find the needle in loadUserSettings"}]}'),
  (3, '{"kind":"assistant","parts":[{"type":"text","text":"数据库"}],"finish":"stop","usage":{"input":10,"cached":null,"output":5,"reasoning":null}}'),
  (4, '{"kind":"turn_end","reason":"limit"}');
INSERT INTO item VALUES
  ('old', 1, 1, 'turn_start', 1, 1), ('old', 2, 1, 'user', 1, 2), ('old', 3, 1, 'assistant', 1, 3), ('old', 4, 1, 'turn_end', 2, 4);
INSERT INTO recording VALUES (1, 'c1', 1, CAST('the needle again' AS BLOB), x'', 16, 1, x'', x'', 0, 0);
INSERT INTO output VALUES ('old', 'o1', 3, 1);
INSERT INTO search (rowid, text) VALUES (2, 'Find the needle in loadUserSettings'), (-1, 'the needle again');
