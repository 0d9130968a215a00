// The least that a compiled program can be.
void 0;
