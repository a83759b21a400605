package runs

import "markmill/notebooks/codec"

// Warm makes the JSON encoders and decoders of what every run writes, which are otherwise made when each is first
// needed. Call it while another processor is idle.
func Warm() {
	for _, v := range []any{
		&RunStartedData{}, &ContractData{}, &PlanData{}, &StepStartedData{}, &StepFinishedData{}, &DiffCheckedData{},
		&VerificationData{}, &CompletedData{}, &ScrapData{}, &PatchData{}, &sealed{Data: codec.Raw("{}")},
	} {
		if b, err := codec.Marshal(v); err == nil {
			_ = codec.Unmarshal(b, v) // only the decoder is wanted
		}
	}
	_ = codec.Unmarshal([]byte("{}"), &Event{})
	_, _ = codec.Marshal(&Report{})
}
