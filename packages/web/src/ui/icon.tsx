/** The icons in use, drawn on a 24 × 24 grid with a stroke width of 1.75. */
import type { ReactNode } from 'react';

const paths = {
  table: 'M4 5h16v14H4zM4 10h16M4 15h16M10 10v9',
  diagram: 'M4 4h6v5H4zM14 15h6v5h-6zM7 9v6a2 2 0 0 0 2 2h5M14 4h6v5h-6zM10 6.500h4',
  shield: 'M12 3l7 3v5c0 4.500-3 8-7 10-4-2-7-5.500-7-10V6z',
  bookmark: 'M7 4h10v16l-5-4-5 4z',
  printer: 'M7 9V4h10v5M7 17H4V9h16v8h-3M7 14h10v6H7z',
  calendar: 'M4 6h16v14H4zM4 10h16M8 3v4M16 3v4',
  sliders: 'M4 8h9M17 8h3M4 16h3M11 16h9M13 6h4v4h-4zM7 14h4v4H7z',
  inbox: 'M4 5h16v14H4zM4 13h4l1.500 3h5l1.500-3h4',
  book: 'M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.500 4.500',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  x: 'M6 6l12 12M18 6L6 18',
  check: 'M5 12.500l4.500 4.500L19 7.500',
  chevronDown: 'M6 9l6 6 6-6',
  chevronRight: 'M9 6l6 6-6 6',
  chevronLeft: 'M15 6l-6 6 6 6',
  chevronUp: 'M6 15l6-6 6 6',
  selector: 'M8 9l4-4 4 4M8 15l4 4 4-4',
  arrowUp: 'M12 19V5M6 11l6-6 6 6',
  arrowDown: 'M12 5v14M6 13l6 6 6-6',
  upload: 'M12 15V4M7 9l5-5 5 5M5 15v5h14v-5',
  user: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM5 20c0-3.500 3-5.500 7-5.500s7 2 7 5.500',
  users:
    'M9 5a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM2.500 19.500c0-3 2.800-5 6.500-5s6.500 2 6.500 5M16 5.300a3.500 3.500 0 0 1 0 6.400M18 15c2 .7 3.500 2.300 3.500 4.500',
  key: 'M8 11a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9zM11.500 12.500L20 4M16 8l3 3',
  webhook:
    'M4.500 12a7.500 7.500 0 0 1 12.800-5.300M19.500 12a7.500 7.500 0 0 1-12.800 5.300M17.500 3v4h-4M6.500 21v-4h4',
  history: 'M4 12a8 8 0 1 0 2.500-5.800M4 4v4h4M12 8v4.500l3 2',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  filter: 'M4 5h16l-6 8v6l-4-2v-4z',
  columns: 'M4 5h16v14H4zM9.500 5v14M15 5v14',
  dots: 'M5 12h.01M12 12h.01M19 12h.01',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M4.900 4.900l1.400 1.400M17.700 17.700l1.400 1.400M2 12h2M20 12h2M4.900 19.100l1.400-1.400M17.700 6.300l1.400-1.400',
  moon: 'M20 14.500A8 8 0 0 1 9.500 4 8 8 0 1 0 20 14.500z',
  monitor: 'M3 5h18v11H3zM9 20h6M12 16v4',
  signOut: 'M14 4H6v16h8M10 12h10M17 8l4 4-4 4',
  menu: 'M4 7h16M4 12h16M4 17h16',
  refresh: 'M20 11a8 8 0 0 0-14-4.500L4 9M4 4v5h5M4 13a8 8 0 0 0 14 4.500L20 15M20 20v-5h-5',
  link: 'M10 14a4 4 0 0 0 5.700 0l3.500-3.500a4 4 0 0 0-5.700-5.700L12 6.300M14 10a4 4 0 0 0-5.700 0l-3.500 3.500a4 4 0 0 0 5.700 5.700L12 17.700',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  copy: 'M8 8h12v12H8zM16 8V4H4v12h4',
  clipboard: 'M8 5H5v16h14V5h-3M8 3h8v4H8zM9 12h6M9 16h4',
  warning: 'M12 4l9.500 16h-19zM12 10v4.500M12 17.500h.01',
  help: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9.500 9.500a2.500 2.500 0 1 1 3.600 2.200c-.700.400-1.100.900-1.100 1.800M12 16.500h.01',
  info: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v5.500M12 7.500h.01',
  offline:
    'M4 4l16 16M8.500 16a5 5 0 0 1 7 0M5 12.500a10 10 0 0 1 4-2.400M19 12.500a10 10 0 0 0-5-2.700M2 9a14 14 0 0 1 4-2.700M22 9A14 14 0 0 0 11 5M12 19.500h.01',
  lock: 'M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 0 1 7 0v3',
  grip: 'M9 6h.01M15 6h.01M9 12h.01M15 12h.01M9 18h.01M15 18h.01',
  apps: 'M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z',
  settings: 'M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4',
  expand: 'M14 4h6v6M20 4l-6.500 6.500M10 20H4v-6M4 20l6.500-6.500',
  send: 'M21 3L10 14M21 3l-7 18-4-7-7-4z',
  reply: 'M10 6L4 12l6 6M4 12h10a6 6 0 0 1 6 6v1',
  mail: 'M4 6h16v12H4zM4 7l8 6 8-6',
  folder: 'M4 6h5l2 2.500h9V19H4z',
  replyAll: 'M12 7l-5 5 5 5M7 7l-5 5 5 5M7 12h8a6 6 0 0 1 6 6v0',
  forward: 'M14 6l6 6-6 6M20 12H10a6 6 0 0 0-6 6v1',
  archive: 'M4 4h16v5H4zM5.500 9v11h13V9M10 13h4',
  star: 'M12 4l2.500 5.200 5.500.8-4 4 1 5.700-5-2.700-5 2.700 1-5.700-4-4 5.500-.8z',
  bold: 'M7 5h6a3.500 3.500 0 0 1 0 7H7zM7 12h7a3.500 3.500 0 0 1 0 7H7z',
  italic: 'M10 5h7M7 19h7M14 5l-4 14',
  underline: 'M7 4v7a5 5 0 0 0 10 0V4M6 20h12',
  heading1: 'M4 6v12M12 6v12M4 12h8M16 10l3-2v10',
  heading2: 'M4 6v12M12 6v12M4 12h8M16 10.500a2 2 0 0 1 4 0c0 2-4 4-4 7h4',
  bulletList: 'M9 6h11M9 12h11M9 18h11M4.500 6h.01M4.500 12h.01M4.500 18h.01',
  orderedList:
    'M10 6h10M10 12h10M10 18h10M4 5l1.500-1v5M4 15.500a1.300 1.300 0 0 1 2.500.5c0 1.200-2.500 2-2.500 3.500h2.500',
  quote: 'M5 6v12M10 8h10M10 12h10M10 16h6',
  clearFormat: 'M6 5h12M12 5l-3 14M14.500 14.500l5 5M19.500 14.500l-5 5',
  plainText: 'M5 6h14M5 10h14M5 14h14M5 18h8',
  paperclip:
    'M19 11l-7.500 7.500a4.500 4.500 0 0 1-6.400-6.400l8-8a3 3 0 0 1 4.300 4.300l-8 8a1.500 1.500 0 0 1-2.100-2.100L14.500 7',
  download: 'M12 4v11M7 10.500l5 5 5-5M5 20h14',
  tag: 'M4 4h8l8 8-8 8-8-8zM8 8h.01',
  bell: 'M6 16V11a6 6 0 0 1 12 0v5l1.500 2h-15zM10 20.500h4',
  bellOff: 'M4 4l16 16M7 9.500a6 6 0 0 0-1 1.500v5l-1.500 2H17M9.500 5.600A6 6 0 0 1 18 11v3.500M10 20.500h4',
  note: 'M5 4h14v10l-5 6H5zM14 20v-6h5M8 8.500h8M8 12h5',
  clock: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4.500l3 1.500',
  eye: 'M2.500 12S6 5.500 12 5.500 21.500 12 21.500 12 18 18.500 12 18.500 2.500 12 2.500 12zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
} as const;

export type IconName = keyof typeof paths;

/** An icon. It is decorative and hidden from screen readers; a button that only shows an icon has its own label. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }): ReactNode {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === 'dots' || name === 'grip' ? 2.5 : 1.75}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  );
}
