// at: src/agent/planted.ts
// rule: no-restricted-imports
import { KubeConfig } from '@kubernetes/client-node';
export const planted = KubeConfig;
