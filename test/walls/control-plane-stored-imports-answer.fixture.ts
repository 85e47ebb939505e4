// at: src/control-plane/stored/planted.ts
// rule: directions
import { deploymentAnswer } from '../deployments/resource.ts';
export const planted = deploymentAnswer;
