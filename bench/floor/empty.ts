// The least that a compiled program can be.
export {};
