/** Receives progress, one line at a time. */
export type Report = (line: string) => void;
