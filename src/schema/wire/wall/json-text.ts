/**
 * JSON text of a `T`. A graph thread's answer crosses in this form and goes to the client untouched, so it is
 * serialised only once. Any plain string counts as one; `holds` exists only for the compiler, which keeps the texts of
 * different values apart.
 */
export type JsonText<T = unknown> = string & { readonly holds?: T };

/** Returns the value that the text holds. Nothing else parses the text of a graph thread. */
export const parseJsonText = <T>(text: JsonText<T>): T => JSON.parse(text) as T;
