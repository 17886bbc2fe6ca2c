import { Button, Group, Modal, Text } from "@mantine/core";
import { asked } from "./confirm";
import { useStore } from "./store";

/** Shows the question that was asked last. Loaded when the first one is asked. */
export default function ConfirmDialog() {
  const current = useStore(asked);
  const settle = (yes: boolean) => {
    current?.settle(yes);
    asked.set(null);
  };
  const question = current?.question;
  return (
    <Modal opened={Boolean(question)} onClose={() => settle(false)} title={question?.title} closeButtonProps={{ "aria-label": "Close" }}>
      <Text component="div">{question?.effect}</Text>
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="default" onClick={() => settle(false)}>
          Keep things as they are
        </Button>
        <Button color={question?.danger ? "red" : "tick"} onClick={() => settle(true)} data-autofocus>
          {question?.action}
        </Button>
      </Group>
    </Modal>
  );
}
