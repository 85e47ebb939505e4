/** Receives progress, one line at a time. */
export type Report = (line: string) => void;

export const seconds = (since: number): string => `${((Date.now() - since) / 1000).toFixed(1)} s`;
