import type { ReactNode, Ref } from 'react';

/** One bar of a chart. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  /** The value as it is written at the bar. */
  readonly text: string;
}

interface ReportChartProps {
  readonly title: string;
  readonly bars: readonly Bar[];
  readonly ref?: Ref<SVGSVGElement>;
}

const sizes = { width: 720, row: 24, labels: 200, values: 70, bar: 14, title: 34 } as const;
const maxLabel = 28;

/** Horizontal bars, with all styles in attributes, so that the picture can be saved as it is. */
export function ReportChart({ title, bars, ref }: ReportChartProps): ReactNode {
  const { width, row, labels, values, bar, title: top } = sizes;
  const most = Math.max(1, ...bars.map(({ value }) => value));
  const scale = (width - labels - values) / most;
  const height = top + bars.length * row + 8;
  const text = { fontFamily: 'sans-serif', fontSize: 12, fill: 'currentColor' } as const;
  return (
    <svg
      ref={ref}
      role="img"
      aria-label={title}
      viewBox={`0 0 ${width} ${height}`}
      width="100%"
      style={{ maxWidth: width }}
    >
      <text x={0} y={20} {...text} fontSize={14} fontWeight={600}>
        {title}
      </text>
      {bars.map(({ label, value, text: written }, index) => {
        const y = top + index * row;
        return (
          <g key={label}>
            <text x={labels - 10} y={y + bar - 2} textAnchor="end" {...text}>
              {label.length > maxLabel ? `${label.slice(0, maxLabel - 1)}…` : label}
            </text>
            <rect x={labels} y={y} width={value * scale} height={bar} rx={2} fill="#0f766e" />
            <text x={labels + value * scale + 6} y={y + bar - 2} {...text}>
              {written}
            </text>
          </g>
        );
      })}
    </svg>
  );
}
