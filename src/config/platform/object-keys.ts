import type { ObjectKeys } from '../../schema/platform/objects/object-keys.ts';
import type { SettingsReader } from '../env.ts';

/** Reads which keys of labels and annotations REST users may ask for, and which objects get them. */
export const readObjectKeys = (read: SettingsReader): ObjectKeys => ({
  pods: read.readWords(['GX_REST_POD_KEYS']),
  services: read.readWords(['GX_REST_SERVICE_KEYS']),
  claims: read.readWords(['GX_REST_CLAIM_KEYS']),
});
