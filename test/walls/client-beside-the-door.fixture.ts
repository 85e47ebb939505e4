// at: src/operator/planted-client.ts
// rule: outgoing
import { request, type IncomingMessage } from 'node:https';

export const planted = (heard: (answer: IncomingMessage) => void): unknown =>
  request('https://registry.example', heard);
