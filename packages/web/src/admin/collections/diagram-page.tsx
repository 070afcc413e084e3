/** Collections as boxes and relations as arrows; the same as a list for screen readers. */
import { Group, Text, Title } from '@mantine/core';
import type { Collection } from '@tablinum/client';
import { Link } from '@tanstack/react-router';
import {
  type HTMLAttributes,
  type PointerEvent,
  type ReactNode,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { useApplication } from '../../data/application.tsx';
import { getTitle } from '../../data/field-names.ts';
import { QueryBoundary } from '../../data/problem.tsx';
import { useSchema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import classes from './diagram.module.css';
import {
  type Arrow,
  type Box,
  buildArrows,
  headHeight,
  layoutCollections,
  lineHeight,
  maxFields,
} from './diagram-layout.ts';

export function DiagramPage(): ReactNode {
  const t = useTexts().data.diagram;
  const schema = useSchema();
  return (
    <Page title={t.title} description={t.description} filled>
      <QueryBoundary query={schema}>
        {({ collections }) => {
          const userCollections = collections.filter((each) => !each.system);
          return userCollections.length === 0 ? (
            <Empty icon="diagram" title={t.emptyTitle} text={t.emptyText} />
          ) : (
            <Diagram collections={userCollections} />
          );
        }}
      </QueryBoundary>
    </Page>
  );
}

interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}
const margin = 40;

function Diagram({ collections }: { collections: readonly Collection[] }): ReactNode {
  const t = useTexts().data.diagram;
  const [moved, setMoved] = useState<Readonly<Record<string, { x: number; y: number }>>>({});
  const layout = useMemo(() => layoutCollections(collections), [collections]);
  const boxes = layout.map((box) => ({ ...box, ...moved[box.collection.name] }));
  const arrows = useMemo(() => buildArrows(collections), [collections]);
  const frame = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<View>({ x: margin, y: margin, scale: 1 });
  const fit = (): void => {
    if (frame.current) setView(fitView(layout, frame.current.clientWidth, frame.current.clientHeight));
  };
  useLayoutEffect(() => {
    if (frame.current) setView(fitView(layout, frame.current.clientWidth, frame.current.clientHeight));
  }, [layout]);
  const zoom = (factor: number): void => setView({ ...view, scale: Math.min(2, Math.max(0.2, view.scale * factor)) });
  const move = useDrag((x, y) => setView({ ...view, x: view.x + x, y: view.y + y }));
  return (
    <div className={classes.frame} ref={frame} onWheel={(event) => zoom(event.deltaY < 0 ? 1.1 : 1 / 1.1)} {...move}>
      <svg className={classes.drawing}>
        <title>{t.title}</title>
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto-start-reverse"
          >
            <path d="M0 0l8 4-8 4z" className={classes.head} />
          </marker>
        </defs>
        <g transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>
          {arrows.map((arrow) => (
            <ArrowLine key={`${arrow.from}.${arrow.field}`} arrow={arrow} boxes={boxes} />
          ))}
          {boxes.map((box) => (
            <CollectionBox
              key={box.collection.name}
              box={box}
              moveBy={(x, y) =>
                setMoved({ ...moved, [box.collection.name]: { x: box.x + x / view.scale, y: box.y + y / view.scale } })
              }
            />
          ))}
        </g>
      </svg>
      <Group className={classes.tools} gap={2}>
        <IconButton icon="plus" label={t.zoomIn} onClick={() => zoom(1.25)} />
        <IconButton icon="minus" label={t.zoomOut} onClick={() => zoom(0.8)} />
        <IconButton icon="expand" label={t.fit} onClick={fit} />
      </Group>
      <RelationList arrows={arrows} />
    </div>
  );
}

function fitView(boxes: readonly Box[], width: number, height: number): View {
  const wide = Math.max(...boxes.map((box) => box.x + box.width));
  const high = Math.max(...boxes.map((box) => box.y + box.height));
  const scale = Math.min(1, Math.max(0.2, Math.min((width - 2 * margin) / wide, (height - 2 * margin) / high)));
  return { x: Math.max(margin, (width - wide * scale) / 2), y: Math.max(margin, (height - high * scale) / 2), scale };
}

/** Pointer handlers that report how far the pointer has moved since the last event. */
function useDrag(
  onDrag: (x: number, y: number) => void,
): Pick<HTMLAttributes<Element>, 'onPointerDown' | 'onPointerMove' | 'onPointerUp'> {
  const lastPoint = useRef<{ x: number; y: number } | null>(null);
  return {
    onPointerDown: (event: PointerEvent) => {
      if (event.target instanceof Element && event.target.closest('a,button,summary')) return;
      event.stopPropagation();
      lastPoint.current = { x: event.clientX, y: event.clientY };
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      if (!lastPoint.current) return;
      event.stopPropagation();
      onDrag(event.clientX - lastPoint.current.x, event.clientY - lastPoint.current.y);
      lastPoint.current = { x: event.clientX, y: event.clientY };
    },
    onPointerUp: () => {
      lastPoint.current = null;
    },
  };
}

function CollectionBox({ box, moveBy }: { box: Box; moveBy: (x: number, y: number) => void }): ReactNode {
  const app = useApplication();
  const drag = useDrag(moveBy);
  const { collection, x, y, width, height } = box;
  const fields = collection.fields.slice(0, maxFields);
  const left = collection.fields.length - fields.length;
  return (
    <g transform={`translate(${x} ${y})`} className={classes.box} {...drag}>
      <rect width={width} height={height} rx={6} className={classes.body} />
      <path d={`M0 ${headHeight}h${width}`} className={classes.rule} />
      <Link to="/a/$app/collections/$collection" params={{ app, collection: collection.name }}>
        <text x={12} y={20} className={classes.title}>
          {truncate(getTitle(collection), 22)}
        </text>
      </Link>
      {fields.map((field, index) => (
        <text key={field.name} x={12} y={headHeight + 17 + index * lineHeight} className={classes.field}>
          {truncate(field.name, 16)}
          <tspan className={classes.type} x={width - 10} textAnchor="end">
            {field.type}
          </tspan>
        </text>
      ))}
      {left > 0 && (
        <text x={12} y={headHeight + 17 + fields.length * lineHeight} className={classes.type}>
          + {left}
        </text>
      )}
    </g>
  );
}

function ArrowLine({ arrow, boxes }: { arrow: Arrow; boxes: readonly Box[] }): ReactNode {
  const from = boxes.find((box) => box.collection.name === arrow.from);
  const to = boxes.find((box) => box.collection.name === arrow.to);
  if (!from || !to) return null;
  const row = from.collection.fields.findIndex((field) => field.name === arrow.field);
  const y1 = from.y + headHeight + 12 + Math.min(row, maxFields) * lineHeight;
  const y2 = to.y + headHeight / 2;
  const fromLeft = to.x + to.width / 2 < from.x + from.width / 2 || from === to;
  const x1 = fromLeft ? from.x : from.x + from.width;
  const x2 = fromLeft && from !== to ? to.x + to.width : to.x;
  const bend = fromLeft ? -50 : 50;
  const path = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 + (from === to ? -50 : -bend)} ${y2} ${x2} ${y2}`;
  const both = arrow.type === 'belongsToMany';
  return (
    <path d={path} className={classes.arrow} markerEnd="url(#arrow)" {...(both && { markerStart: 'url(#arrow)' })} />
  );
}

function truncate(text: string, maxLength: number): string {
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}

function RelationList({ arrows }: { arrows: readonly Arrow[] }): ReactNode {
  const t = useTexts().data;
  return (
    <details className={classes.list}>
      <summary>
        <Title order={2} size="sm" component="span">
          {t.diagram.asList}
        </Title>
      </summary>
      <ul>
        {arrows.map((arrow) => (
          <li key={`${arrow.from}.${arrow.field}`}>
            <Text size="sm">
              {t.diagram.relation(
                `${arrow.from}.${arrow.field}`,
                (t.types.names[arrow.type] ?? arrow.type).toLowerCase(),
                arrow.to,
              )}
            </Text>
          </li>
        ))}
      </ul>
    </details>
  );
}
