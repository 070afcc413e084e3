import type { ReactNode } from 'react';

/** A part of a bar. */
interface BarPart {
  readonly value: number;
  readonly color: string;
}

export interface MinuteBar {
  /** When the minute began. */
  readonly at: string;
  /** Shown on hovering. */
  readonly text: string;
  /** From the bottom to the top. */
  readonly parts: readonly BarPart[];
}

const sizes = { width: 732, height: 120, bar: 10, gap: 2, minutes: 61 } as const;

/** Bars of the minutes of an hour; the newest one is on the right. */
export function MinuteChart({
  title,
  most,
  bars,
}: {
  title: string;
  most: string;
  bars: readonly MinuteBar[];
}): ReactNode {
  const { width, height, bar, gap, minutes } = sizes;
  const total = ({ parts }: MinuteBar): number => parts.reduce((sum, { value }) => sum + value, 0);
  const scale = height / Math.max(1, ...bars.map(total));
  const first = minutes - bars.length;
  return (
    <svg role="img" aria-label={`${title}: ${most}`} viewBox={`0 0 ${width} ${height + 4}`} width="100%">
      <line x1={0} x2={width} y1={height + 1} y2={height + 1} stroke="currentColor" strokeOpacity={0.3} />
      {bars.map((each, index) => {
        let top = height;
        return (
          <g key={each.at}>
            <title>{each.text}</title>
            {each.parts.map(({ value, color }) => {
              top -= value * scale;
              return (
                <rect
                  key={color}
                  x={(first + index) * (bar + gap)}
                  y={top}
                  width={bar}
                  height={value * scale}
                  fill={color}
                />
              );
            })}
          </g>
        );
      })}
    </svg>
  );
}
