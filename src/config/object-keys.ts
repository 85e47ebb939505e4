import type { ObjectKeys } from '../schema/platform/object-keys.ts';
import type { SettingsReader } from './env.ts';

/** Reads which keys of labels and annotations REST users may ask for, and which objects get them. */
export const objectKeys = (read: SettingsReader): ObjectKeys => ({
  pods: read.words(['GX_REST_POD_KEYS']),
  services: read.words(['GX_REST_SERVICE_KEYS']),
  claims: read.words(['GX_REST_CLAIM_KEYS']),
});
