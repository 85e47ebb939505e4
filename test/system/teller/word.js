export const WORD = 'first';
