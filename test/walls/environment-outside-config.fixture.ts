// at: src/agent/planted-env.ts
// rule: no-process-env
export const planted = process.env.HOME;
