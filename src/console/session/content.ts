/** Milliseconds that a session lasts without use. */
const LASTS = 12 * 3_600_000;
/** Seconds for which a browser keeps the cookie: longer than the session lasts, so that its end can be explained. */
export const KEPT_SECONDS = (2 * LASTS) / 1000;

/** A session: the user's key, and the time in milliseconds until which it is taken. */
export type SessionContent = { key: string; until: number };

export const buildSession = (key: string, now: number): SessionContent => ({
  key,
  until: now + LASTS,
});

/** Returns whether the session is to be given out again, because half of its time has passed. */
export const isHalfOver = ({ until }: SessionContent, now: number): boolean =>
  until - now < LASTS / 2;

/** Returns the session that a text describes, if it is not over. */
export function parseSession(text: string | undefined, now: number): SessionContent | undefined {
  if (text === undefined) return undefined;
  const { key, until } = JSON.parse(text) as SessionContent;
  return until > now ? { key, until } : undefined;
}
