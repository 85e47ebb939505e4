import type { SettingsReader } from '../env.ts';

/** How the server reports ends of runs by webhook. */
export type WebhookConfig = ReturnType<typeof readWebhookSettings>;

const SECRET = 'GX_WEBHOOK_SECRET';

/** A secret as Standard Webhooks has it: this prefix, and the base64 of so many bytes. */
const PREFIX = 'whsec_';
const BYTES = { least: 24, most: 64 };

/** Returns the key of a secret; undefined when it is none. */
function parseSigningKey(secret: string): Buffer | undefined {
  const text = secret.replace(PREFIX, '');
  const key = Buffer.from(text, 'base64');
  const isWhole =
    secret.startsWith(PREFIX) &&
    key.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '');
  return isWhole && key.length >= BYTES.least && key.length <= BYTES.most ? key : undefined;
}

export function readWebhookSettings(read: SettingsReader) {
  const keys = read.readWords([SECRET]).map(parseSigningKey);
  if (keys.includes(undefined))
    read.addProblem(
      `${SECRET} must be "${PREFIX}" and the base64 of ${BYTES.least} to ${BYTES.most} bytes; several have commas between them`,
    );
  return {
    /** Whether they may call this machine, where gx.json does not say. */
    loopback: false,
    /** Sign each message; several while one takes the place of another. */
    keys: keys.filter((key) => key !== undefined),
    /** How long a receiver may take to answer. */
    timeoutSeconds: read.readInteger(['GX_WEBHOOK_TIMEOUT_SECS'], 30, { min: 1, max: 300 }),
  };
}
