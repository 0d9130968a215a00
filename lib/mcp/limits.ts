/** A longer message ends the connection: it would have to be held in memory as a whole. */
export const mostMessageBytes = 10 * 2 ** 20;
