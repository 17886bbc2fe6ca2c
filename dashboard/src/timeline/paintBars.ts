import { BAR_HEIGHT, type Shape } from "./layoutShapes";

const HATCH = 5; // pixels between two lines

/** Paints bars as TimelineBars draws them: the same shapes and patterns. */
export function paintBars(canvas: HTMLCanvasElement, shapes: readonly Shape[], width: number, height: number): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const density = globalThis.devicePixelRatio || 1;
  canvas.width = width * density;
  canvas.height = height * density;
  context.scale(density, density);
  context.clearRect(0, 0, width, height);
  const style = getComputedStyle(canvas);
  const colors = new Map<string, string>();
  const color = (variable: string) => {
    const name = variable.slice("var(".length, -1);
    if (!colors.has(name)) colors.set(name, style.getPropertyValue(name).trim());
    return colors.get(name) ?? "";
  };
  for (const shape of shapes) paintBar(context, shape, color);
}

function paintBar(context: CanvasRenderingContext2D, { x, y, width, look }: Shape, color: (variable: string) => string): void {
  context.fillStyle = color(look.color);
  context.strokeStyle = color(look.color);
  if (look.pattern === "solid") return context.fillRect(x, y, width, BAR_HEIGHT);
  if (look.pattern === "notched") return fillNotched(context, x, y, width);
  context.setLineDash(look.pattern === "dashed" ? [3, 2] : look.pattern === "dotted" ? [1.2, 2] : []);
  context.strokeRect(x + 0.5, y + 0.5, width - 1, BAR_HEIGHT - 1);
  context.setLineDash([]);
  if (look.pattern === "hatched") strokeHatch(context, x, y, width);
  return undefined;
}

function fillNotched(context: CanvasRenderingContext2D, x: number, y: number, width: number): void {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + width, y);
  context.lineTo(x + width - Math.min(4, width / 2), y + BAR_HEIGHT / 2);
  context.lineTo(x + width, y + BAR_HEIGHT);
  context.lineTo(x, y + BAR_HEIGHT);
  context.fill();
}

function strokeHatch(context: CanvasRenderingContext2D, x: number, y: number, width: number): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, BAR_HEIGHT);
  context.clip();
  context.beginPath();
  for (let left = x - BAR_HEIGHT; left < x + width; left += HATCH) {
    context.moveTo(left, y + BAR_HEIGHT);
    context.lineTo(left + BAR_HEIGHT, y);
  }
  context.stroke();
  context.restore();
}
