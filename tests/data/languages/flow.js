// @flow
export function typed(x: number): string { return String(x); }
