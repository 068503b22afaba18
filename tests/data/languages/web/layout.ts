export interface Point { x: number; y: number }

/** Nearest neighbour of a point. */
export function nearest<T extends Point>(point: T, others: T[] = []): T {
  return others[0] ?? point;
}

export namespace force {
  export function repel(points: Point[]): Point[] { return points; }
}

export abstract class Layout {
  abstract place(points: Point[]): void;
  protected relax(points: Point[]): Point[] { return force.repel(points); }
}

export const MAX_STEPS = 300;
