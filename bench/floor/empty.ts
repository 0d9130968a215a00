// The floor of a compiled program.
void 0;
