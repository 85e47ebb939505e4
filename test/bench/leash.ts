/** Ends when its standard input does: with us, whatever ended us. */
const LEASH = 'process.stdin.on("end", () => process.exit()).resume(); process.stdin.unref();';

/** Flags for a Node.js program whose standard input is a pipe from this process. */
export const LEASHED = ['--import', `data:text/javascript,${LEASH}`];
