// at: src/agent/planted-throw.ts
// rule: only-throw-error
export const planted = (): never => {
  throw 'text';
};
