/** The build puts the meanings of all reasons here, from the list that the page on troubleshooting is printed from. */
declare const REASON_MEANINGS: Record<string, { means: string; remedy: string }>;

/** Returns the meaning of a reason, and the remedy. Undefined for one that is no failure. */
export const reasonMeaning = (reason: string): { means: string; remedy: string } | undefined => REASON_MEANINGS[reason];
