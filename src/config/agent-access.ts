import type { SettingsReader } from './env.ts';

/** Who may call an agent whose gx.json names no handlers. Without any of these, everybody who reaches it. */
export type AgentAccess = {
  /** The key of the deployment. */
  key: string | undefined;
  /** The folder with the key in files, which are read again when they change. */
  keyFolder: string | undefined;
};

export const OPEN_ACCESS: AgentAccess = { key: undefined, keyFolder: undefined };

/** Characters of the shortest key. The operator's have 47. */
const SHORTEST = 16;

/** Reads who may call. */
export function agentAccess(read: SettingsReader): AgentAccess {
  const key = read.optional(['GX_AGENT_KEY']);
  const keyFolder = read.optional(['GX_AGENT_KEY_FOLDER']);
  if (key !== undefined && keyFolder !== undefined) read.problem('GX_AGENT_KEY and GX_AGENT_KEY_FOLDER exclude each other');
  if (key !== undefined && key.length < SHORTEST) read.problem(`GX_AGENT_KEY must have at least ${SHORTEST} characters`);
  return { key, keyFolder };
}
