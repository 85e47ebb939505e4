/** Bytes of one environment variable, `NAME=value` with the NUL behind it: MAX_ARG_STRLEN of Linux (execve(2)). */
export const MAX_VARIABLE_BYTES = 131_072;

/** Returns true if no process can be started with this variable: the kernel answers "Argument list too long". */
export const isTooLargeVariable = (name: string, valueBytes: number): boolean =>
  new TextEncoder().encode(name).length + valueBytes + 2 > MAX_VARIABLE_BYTES;
