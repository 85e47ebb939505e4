// at: src/control-plane/planted-koa.ts
// rule: doors
import Koa from 'koa';
export const planted = Koa;
