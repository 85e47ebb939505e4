// at: src/control-plane/planted-message.ts
// rule: words
export const planted = 'Create the deployment anew.';
