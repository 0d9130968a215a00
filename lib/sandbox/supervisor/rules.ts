/**
 * The connections that commands may make, as data: it is sent to the supervisor's thread. All paths are real, with no
 * symlink in them. Where their listen() is asked about as well, they may listen in the file system, and otherwise where
 * the network and the names in it are their own: `tcp` is "any", and `abstract` holds.
 */
export type ConnectRules = {
  /** Directories below which unix sockets may be connected to. */
  readonly sockets: readonly string[];
  /** Paths that are hidden from commands: never connected to, even below `sockets`. */
  readonly except: readonly string[];
  /**
   * Commands know `to` by the name `from`, as they know a private directory by the name /tmp; but not what lies below
   * one of `sockets` by its own name.
   */
  readonly names: readonly Name[];
  /** "any": the network namespace of the commands decides. Else exactly these addresses, of IPv4. */
  readonly tcp: "any" | readonly Endpoint[];
  /** Unix sockets without a file: harmless in a network namespace of the commands' own, and refused elsewhere. */
  readonly abstract: boolean;
  /**
   * False: connects never a duplicate of a command's socket but one of koda's in its place, as where the kernel
   * refuses duplicates.
   */
  readonly borrow?: boolean;
};

export type Name = { readonly from: string; readonly to: string };
export type Endpoint = { readonly address: string; readonly port: number };

/** A connect() or listen() that the rules did not allow. */
export type Refusal = {
  /** The thread that asked, and the session that its process belongs to. */
  pid: number;
  session: number;
  /** In words: `the unix socket "/run/docker.sock"`, `127.0.0.2:80`, `listening on 0.0.0.0:8080`. */
  what: string;
};
