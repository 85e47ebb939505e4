/** Returns a failure as the sentence that people read. */
export const failureText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
