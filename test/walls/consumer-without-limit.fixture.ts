// at: src/console/planted-consumer.ts
// rule: bounded-answers
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
export const planted = (answer: Readable): Promise<string> => text(answer);
