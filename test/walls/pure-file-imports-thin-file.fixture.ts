// at: src/control-plane/deployments/planted-rules.ts
// rule: pure
import { listen } from '../../http/listen.ts';
export const planted = listen;
