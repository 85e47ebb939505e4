import { PINS, type Pin } from '../schema/platform/pins.ts';
import type { SettingsReader } from './env.ts';

/** The words as they are read, in small letters. */
const WORDS = { run: 'Run', thread: 'Thread', none: 'None' } as const satisfies Record<Lowercase<Pin>, Pin>;

/** Reads how runs keep to the revision on which they began. */
export function pinSetting(read: SettingsReader): Pin {
  const words = PINS.map((pin) => pin.toLowerCase() as Lowercase<Pin>);
  return WORDS[read.oneOf(['GX_PIN'], 'none', words)];
}
