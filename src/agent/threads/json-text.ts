/**
 * JSON text of a `T`. An answer of a graph thread crosses in this form and goes to the client untouched: it is
 * serialised once. A plain text counts as one; `holds` exists for the compiler only, which keeps the texts of different
 * values apart.
 */
export type JsonText<T = unknown> = string & { readonly holds?: T };

/** Returns the value that the text holds. Nothing else turns what a graph thread sent into a value. */
export const parsed = <T>(text: JsonText<T>): T => JSON.parse(text) as T;
