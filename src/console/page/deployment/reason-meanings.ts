/** The build puts the meanings of all reasons here, from the list that the page on troubleshooting is printed from. */
declare const REASON_MEANINGS: Record<string, { means: string; remedy: string }>;

/** Returns the meaning of a reason, and its remedy; undefined for one that is not listed. */
export const findReasonMeaning = (
  reason: string | null,
): { means: string; remedy: string } | undefined =>
  reason === null ? undefined : REASON_MEANINGS[reason];
