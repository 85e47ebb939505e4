import type { BrowserSession } from '../../../schema/wire/console-session.ts';
import { RequestRefused, type Calls } from './calls.ts';

export type ReaderSession = Omit<BrowserSession, 'options' | 'reason'> & { reason?: string };

/** Returns the session of this browser. */
export const readSession = async (calls: Calls): Promise<ReaderSession> =>
  answer(await calls.open('session', {}));

/** Begins a session with an API key. Returns the sentence of a refusal. */
export async function signIn(calls: Calls, apiKey: string): Promise<ReaderSession | string> {
  try {
    return await answer(await calls.open('session', { method: 'POST', body: { api_key: apiKey } }));
  } catch (error) {
    if (error instanceof RequestRefused) return error.message;
    throw error;
  }
}

/** Ends the session. */
export const signOut = async (calls: Calls): Promise<void> =>
  void (await calls.open('session', { method: 'DELETE' }));

const answer = async (response: Response): Promise<ReaderSession> =>
  (await response.json()) as ReaderSession;
