/** The usual times at which a snoozed conversation returns, in the time zone of the browser. */
export interface SnoozeChoice {
  readonly name: 'laterToday' | 'thisEvening' | 'tomorrow' | 'nextWeek';
  readonly until: Date;
}

const morning = 8;
const evening = 18;
const daysOfWeek = 7;

/** The choices at a moment, the earliest first. An evening that is near or over is left out. */
export function listSnoozeChoices(now: Date): readonly SnoozeChoice[] {
  const at = (days: number, hour: number): Date => {
    const time = new Date(now);
    time.setDate(time.getDate() + days);
    time.setHours(hour, 0, 0, 0);
    return time;
  };
  const inThreeHours = new Date(now);
  inThreeHours.setHours(now.getHours() + 3, 0, 0, 0);
  const untilMonday = (daysOfWeek + 1 - now.getDay()) % daysOfWeek || daysOfWeek;
  const choices: SnoozeChoice[] = [
    { name: 'laterToday', until: inThreeHours },
    { name: 'thisEvening', until: at(0, evening) },
    { name: 'tomorrow', until: at(1, morning) },
    { name: 'nextWeek', until: at(untilMonday, morning) },
  ];
  const hour = 3_600_000;
  return choices.filter(({ until }) => until.getTime() > now.getTime() + hour);
}

/** The value of an input of the type `datetime-local`. */
export function toLocalInput(time: Date): string {
  const pad = (part: number): string => String(part).padStart(2, '0');
  const day = `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())}`;
  return `${day}T${pad(time.getHours())}:${pad(time.getMinutes())}`;
}
