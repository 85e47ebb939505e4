/** Returns a failure as the sentence that people read. */
export const describeFailure = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
